/** The look of the page: attributes of the root element, served with the page and changed with the choices. */

import "./browser.js";

const NAMES = ["type", "contrast", "words", "aloud", "aloud-next"];
const root = document.documentElement;

/** How this person wants the page; read at each use, because it may change while the page is open. */
export const look = {
  /** Whether a reply is shown when it is complete, and not while it comes. */
  get isWhole() {
    return root.dataset.words === "whole";
  },
  /** Whether words are shown at a reading pace. */
  get isSlow() {
    return root.dataset.words === "slow";
  },
  /** Whether each message has a button that reads it aloud. */
  get hasAloud() {
    return root.dataset.aloud !== undefined;
  },
  /** Whether each new message is read aloud. */
  get readsEach() {
    return root.dataset.aloud === "each";
  },
  /** Whether a new message stops the one that is read. */
  get readsNewest() {
    return root.dataset.aloudNext !== "end";
  },
};

/** Tells the other tabs of this browser what was chosen here. */
const tabs = new BroadcastChannel("companion-look");

/** Put on the attributes of a look. The previous release does not send one. */
export function putOn(attributes) {
  if (!attributes) return;
  for (const name of NAMES) {
    const value = attributes[name];
    if (!value) root.removeAttribute(`data-${name}`);
    else if (root.getAttribute(`data-${name}`) !== value) root.setAttribute(`data-${name}`, value);
  }
}

/** Put on a look that was chosen here, in every tab. */
export function choose(attributes) {
  putOn(attributes);
  tabs.postMessage(attributes);
}

/** Put on what is chosen in another tab, and call `changed()`. */
export function watchLook(changed) {
  tabs.onmessage = ({ data }) => {
    putOn(data);
    changed();
  };
}
