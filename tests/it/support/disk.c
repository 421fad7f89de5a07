/* A disk whose fault the tests choose: while the file that FAULTY_DISK names is there, writing to a file whose name ends with
   FAULTY_DISK_FILES fails with the error whose number the file holds. If that is -1, it does not fail but waits until the file is
   gone, once the file that is written to has something in it. Loaded before libc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fault(int fd)
{
    const char *name = getenv("FAULTY_DISK"), *files = getenv("FAULTY_DISK_FILES");
    char link[64], path[4096], number[16];
    size_t length;
    ssize_t linked, end;
    struct stat found;
    int file;
    if (!name || !files)
        return 0;
    length = strlen(files);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    linked = readlink(link, path, sizeof path);
    if (linked < (ssize_t)length || memcmp(path + linked - length, files, length) != 0)
        return 0;
    while ((file = open(name, O_RDONLY)) >= 0) {
        end = read(file, number, sizeof number - 1);
        close(file);
        number[end < 0 ? 0 : end] = 0;
        if (atoi(number) != -1)
            return atoi(number);
        if (fstat(fd, &found) || found.st_size == 0)
            return 0;
        usleep(5000);
    }
    return 0;
}

ssize_t write(int fd, const void *bytes, size_t count)
{
    static ssize_t (*real)(int, const void *, size_t);
    if ((errno = fault(fd)))
        return -1;
    if (!real)
        real = dlsym(RTLD_NEXT, "write");
    return real(fd, bytes, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
    static ssize_t (*real)(int, const void *, size_t, off_t);
    if ((errno = fault(fd)))
        return -1;
    if (!real)
        real = dlsym(RTLD_NEXT, "pwrite");
    return real(fd, bytes, count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset)
{
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if ((errno = fault(fd)))
        return -1;
    if (!real)
        real = dlsym(RTLD_NEXT, "pwrite64");
    return real(fd, bytes, count, offset);
}
