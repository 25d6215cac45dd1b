import { source } from 'axe-core';
import type { Page } from 'playwright-core';

/** Collects the shifts of the layout from the start of the page on. Call before `goto`. */
export const watchShifts = (page: Page): Promise<unknown> =>
  page.addInitScript(`(() => {
    window.layoutShifts = [];
    const keep = (list) => window.layoutShifts.push(...list.getEntries().filter((each) => !each.hadRecentInput));
    new PerformanceObserver(keep).observe({ type: 'layout-shift', buffered: true });
  })()`);

/** How far the page moved without being asked to: the worst five seconds, as CLS counts. */
export const shiftOf = (page: Page): Promise<number> =>
  page.evaluate(`(() => {
    let [worst, sum, first, last] = [0, 0, -Infinity, -Infinity];
    for (const { value, startTime } of window.layoutShifts) {
      if (startTime - last > 1000 || startTime - first > 5000) [sum, first] = [0, startTime];
      [sum, last] = [sum + value, startTime];
      worst = Math.max(worst, sum);
    }
    return worst;
  })()`);

/** What axe finds critical or serious, with where. */
async function axeFindings(page: Page): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(source);
  // Colours that are still changing over have no contrast yet.
  await page.evaluate(
    'Promise.all(document.getAnimations().map((each) => each.effect.getTiming().iterations === Infinity || each.finished))',
  );
  return page.evaluate(`axe.run().then(({ violations }) => violations
    .filter(({ impact }) => impact === 'critical' || impact === 'serious')
    .flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ' ' + target)))`);
}

/** Words that are on two lines, and what sticks out of the screen. */
const brokenWords = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const found = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const { currentNode: node } = texts;
      if (!node.parentElement.checkVisibility() || node.parentElement.closest('.unseen, svg')) continue;
      for (const { 0: word, index } of node.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        if (range.getClientRects().length > 1) found.push(word);
      }
    }
    const { scrollWidth } = document.documentElement;
    return scrollWidth > innerWidth ? [...found, 'wide: ' + scrollWidth] : found;
  })()`);

/** What can be pressed, and is smaller than 24 by 24 pixels. */
const smallTargets = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('a, button, input, textarea, select, summary')]
    .map((each) => each.closest('label') ?? each)
    .filter((each) => each.checkVisibility())
    .map((each) => ({ name: each.innerText || each.ariaLabel, box: each.getBoundingClientRect() }))
    .filter(({ box }) => box.width < 24 || box.height < 24)
    .map(({ name, box }) => name + ' ' + box.width + ' x ' + box.height)`);

/** Everything that can be held against what is on the screen. */
export async function faultsOf(page: Page): Promise<Record<string, unknown>> {
  return {
    axe: await axeFindings(page),
    broken: await brokenWords(page),
    small: await smallTargets(page),
    headings: await page.locator('h1').count(),
  };
}
export const NO_FAULTS = { axe: [], broken: [], small: [], headings: 1 };

const VIEWS = [
  [390, 'dark'],
  [768, 'light'],
  [1280, 'dark'],
] as const;

/** Expects that nothing can be held against it on a phone, a tablet and a desktop, light or dark. */
export async function looksGood(page: Page): Promise<void> {
  const before = page.viewportSize()!;
  const found: Record<string, unknown> = {};
  for (const [width, colorScheme] of VIEWS) {
    await page.setViewportSize({ ...before, width });
    await page.emulateMedia({ colorScheme });
    found[width] = await faultsOf(page);
  }
  await page.setViewportSize(before);
  expect(found).toEqual(Object.fromEntries(VIEWS.map(([width]) => [width, NO_FAULTS])));
}
