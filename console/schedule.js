// When a page that changes quickly draws.

/** A function that has `draw` called in the next frame: once, however often it is called before. */
export function onFrame(draw, signal) {
	let isAsked = false;
	return () => {
		if (isAsked || signal.aborted) return;
		isAsked = true;
		requestAnimationFrame(() => {
			isAsked = false;
			if (!signal.aborted) draw();
		});
	};
}

/** A function that runs `work`, one run at a time; calls during a run are one more run. So calls in quick succession do not put it off. */
export function oneAtATime(work, signal) {
	let isStale = false;
	let isRunning = false;
	return async () => {
		isStale = true;
		if (isRunning) return;
		isRunning = true;
		while (isStale && !signal.aborted) {
			isStale = false;
			await work();
			await new Promise(requestAnimationFrame);
		}
		isRunning = false;
	};
}
