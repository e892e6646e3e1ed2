/** The axis of the values of a chart. */

/** The top of the axis. A series of zeros in counts has 1 at the top, not a thousandth, whose ticks would all read "0". */
export const topOf = (largest: number, hasSmallValues: boolean): number =>
  largest > 0 ? Math.max(1e-3, largest * 1.1) : hasSmallValues ? 1e-3 : 1

/** The texts of the ticks; a tick whose rounded text repeats the text below it has none. */
export const tickTexts = (ticks: readonly number[], text: (value: number) => string): string[] => {
  const texts = ticks.map(text)
  return texts.map((each, index) => (each === texts[index - 1] ? '' : each))
}
