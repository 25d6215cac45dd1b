/**
 * Has a value made at most once in so many milliseconds, counted from the start of the making: calls meanwhile share
 * it, and so they share an error. By the clock that nobody sets, so that no change of the time keeps an old value.
 * @param patience after so many milliseconds calls no longer share what is still being made, but have it made again
 */
export function atMostEvery<T>(ms: number, make: () => Promise<T>, patience = Infinity): () => Promise<T> {
  let value: Promise<T>;
  let due = -Infinity;
  return () => {
    const now = performance.now();
    if (now < due) return value;
    due = now + patience;
    // Of an async function, so that what it throws at once is shared too.
    const made = (async () => make())().finally(() => {
      // One that was given up must not end the time of its successor.
      if (made === value) due = now + ms;
    });
    return (value = made);
  };
}
