// Values that the browser stores. What it does not let a page store is not stored.

/** Return a stored value, null if there is none. */
export function readStored(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}

export function store(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // The page works without.
  }
}
