/** The browser of the machine, or the one that CHROMIUM names. */
export function findChromium(): string | undefined;
