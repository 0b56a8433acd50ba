/** A machine that was withdrawn looks again now and then whether that has changed. */

const LOOK_AGAIN_MS = 60_000;

setTimeout(() => window.location.replace(window.location.pathname), LOOK_AGAIN_MS * (1 + Math.random()));
