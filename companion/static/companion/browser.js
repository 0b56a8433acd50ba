/** Starts no page in a browser that is too old for it: the page then says whom to ask, and nothing is half shown. */

const has = ["ariaPressed" in Element.prototype, "timeout" in AbortSignal, CSS.supports("selector(:has(a))")];

// Thrown before the modules that import this one run. Those that know less stop at their own syntax.
if (!has.every(Boolean)) throw new Error("browser_too_old");
