/** Words as a person compares them: without case, accents and punctuation. */

/** Without case and accents, spaces made one. */
export const fold = (text: string): string =>
  text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().replace(/\s+/gu, ' ').trim()

/** And without anything but letters and digits. */
export const foldHard = (text: string): string =>
  fold(text)
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()

/** What may be shown and kept: bounded, without control characters or halves of one. */
export function plain(text: string, most: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const clean = text.toWellFormed().replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, ' ')
  return clean.length <= most
    ? clean.trim()
    : `${clean
        .slice(0, most - 1)
        .toWellFormed()
        .trim()}…`
}
