/** Sign-in with a card's link: two pictures are pressed, one after the other. */

import { Pictures } from "./pictures.js";

const form = document.querySelector("[data-pictures]");
const code = document.querySelector("[data-code]");
const pictures = new Pictures(form);

/** Show the pictures for a link that `address.js` has taken out of the address. */
function offer() {
  if (!window.cardLink) return;
  pictures.fields.link.value = window.cardLink;
  delete window.cardLink;
  form.querySelector(".problem")?.remove();
  code.hidden = true;
  form.hidden = false;
  pictures.begin();
}

/** Try it: `navigator.cookieEnabled` is true in Chromium also where the site's cookies are refused. */
function takesCookies() {
  document.cookie = "tried=yes; SameSite=Strict; Path=/card/";
  const takes = document.cookie.includes("tried=yes");
  document.cookie = "tried=; SameSite=Strict; Path=/card/; Max-Age=0";
  return takes;
}

// Without cookies a sign-in leads back to this page, and nothing else would say why.
document.querySelector("[data-cookies-refused]").hidden = takesCookies();
window.addEventListener("hashchange", offer);
// A page restored from the browser's cache has no link, so it is reloaded.
window.addEventListener("pagehide", () => (pictures.fields.link.value = ""));
window.addEventListener("pageshow", (event) => event.persisted && window.location.reload());
offer();
