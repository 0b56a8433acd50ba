/** Removes a card's letters from the address before the page is shown: a blocking script in the head. */

{
  const { address } = document.currentScript.dataset;
  const takeLink = () => {
    const link = window.location.hash.slice(1);
    if (link) {
      window.cardLink = link;
      document.documentElement.dataset.link = "";
    }
    if (link || window.location.pathname !== address) history.replaceState(null, "", address);
  };
  takeLink();
  // A second card's link, opened in the same tab, changes only the fragment.
  window.addEventListener("hashchange", takeLink);
}
