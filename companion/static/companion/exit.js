/** *Leave now*, and the end in another tab, on pages without a conversation. */

import { Leaving } from "./leaving.js";

new Leaving(document.body, () => {});
