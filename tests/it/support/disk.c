/* A disk whose fault the tests choose: while the file that FAULTY_DISK names is there, writing to the log of a SQLite file
   fails with the error whose number the file holds. Loaded before libc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fault(int fd)
{
    const char *name = getenv("FAULTY_DISK");
    char link[64], path[4096], number[16] = "";
    ssize_t length;
    int file;
    if (!name)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path);
    if (length < 4 || memcmp(path + length - 4, "-wal", 4) != 0)
        return 0;
    file = open(name, O_RDONLY);
    if (file < 0)
        return 0;
    if (read(file, number, sizeof number - 1) < 0)
        number[0] = 0;
    close(file);
    return atoi(number);
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
