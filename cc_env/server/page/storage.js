// Values that the browser stores: "localStorage" for good, "sessionStorage" for a tab. What it does not
// let a page store lasts until the page is left.

const unstored = { localStorage: new Map(), sessionStorage: new Map() };

/** Return a stored value, null if there is none. */
export function readStored(key, area = "localStorage") {
  try {
    return JSON.parse(unstored[area].get(key) ?? window[area].getItem(key));
  } catch {
    return null;
  }
}

/** Store a value, null to remove it; return whether it is stored for later visits. */
export function store(key, value, area = "localStorage") {
  const text = JSON.stringify(value);
  try {
    if (value === null) window[area].removeItem(key);
    else window[area].setItem(key, text);
    unstored[area].delete(key);
    return true;
  } catch {
    unstored[area].set(key, text);
    return false;
  }
}
