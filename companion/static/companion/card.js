/** Sign-in with a card's link: two pictures are pressed, one after the other. */

const pictures = document.querySelector("[data-pictures]");
const code = document.querySelector("[data-code]");
const ask = pictures.querySelector("[data-ask]");
const buttons = [...pictures.querySelectorAll("button[value]")];
const fields = pictures.elements;

/** Show the pictures for a link that `address.js` has taken out of the address. */
function offer() {
  if (!window.cardLink) return;
  fields.link.value = window.cardLink;
  delete window.cardLink;
  pictures.querySelector(".problem")?.remove();
  code.hidden = true;
  pictures.hidden = false;
  begin();
}

function begin() {
  fields.first.value = "";
  fields.second.value = "";
  buttons.forEach((button) => (button.ariaPressed = "false"));
  ask.textContent = pictures.dataset.first;
}

function press(button) {
  if (fields.second.value) return;
  // A second press on the same picture clears the choice.
  if (fields.first.value === button.value) return begin();
  button.ariaPressed = "true";
  if (!fields.first.value) {
    fields.first.value = button.value;
    ask.textContent = pictures.dataset.second;
    return;
  }
  fields.second.value = button.value;
  pictures.requestSubmit();
}

/** Try it: `navigator.cookieEnabled` is true in Chromium also where the site's cookies are refused. */
function takesCookies() {
  document.cookie = "tried=yes; SameSite=Strict; Path=/card/";
  const takes = document.cookie.includes("tried=yes");
  document.cookie = "tried=; SameSite=Strict; Path=/card/; Max-Age=0";
  return takes;
}

buttons.forEach((button) => button.addEventListener("click", () => press(button)));
// Without cookies a sign-in leads back to this page, and nothing else would say why.
document.querySelector("[data-cookies-refused]").hidden = takesCookies();
window.addEventListener("hashchange", offer);
// A page restored from the browser's cache has no link, so it is reloaded.
window.addEventListener("pagehide", () => (fields.link.value = ""));
window.addEventListener("pageshow", (event) => event.persisted && window.location.reload());
offer();
