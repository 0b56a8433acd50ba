/** Puts plain text into the page as paragraphs: never as markup, and without touching what is already right. */

/** The paragraphs of a text: parted by blank lines, blanks at either end left out. */
export function paragraphs(text) {
  const plain = text.replace(/\r\n?/g, "\n").trim();
  return plain ? plain.split(/\n[^\S\n]*\n\s*/) : [];
}

/** Make `box` hold exactly the paragraphs of `text`, changing only what differs. */
export function fill(box, text) {
  const wanted = paragraphs(text);
  while (box.childElementCount > wanted.length) box.lastElementChild.remove();
  wanted.forEach((paragraph, index) => grow(paragraphAt(box, index), paragraph));
}

function paragraphAt(box, index) {
  const there = box.children[index];
  if (there?.localName === "p") return there;
  const node = document.createElement("p");
  // Each paragraph runs in the direction of its own first letters.
  node.dir = "auto";
  if (there) there.replaceWith(node);
  else box.append(node);
  return node;
}

/** Make `node` hold `text` as its only text, also after a translator or an extension has changed it. */
export function grow(node, text) {
  const words = node.firstChild;
  const isOurs = node.childNodes.length === 1 && words.nodeType === Node.TEXT_NODE;
  if (!isOurs) return node.replaceChildren(document.createTextNode(text));
  if (words.data === text) return;
  // Adding to a text keeps what a reader has selected in it; replacing it does not.
  if (text.startsWith(words.data)) words.appendData(text.slice(words.length));
  else words.data = text;
}
