/** Compares words like a person: without case, accents and punctuation. */

/** Removes case and accents, and joins spaces. */
export const fold = (text: string): string =>
  text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().replace(/\s+/gu, ' ').trim()

/** Also removes everything except letters and digits. */
export const foldHard = (text: string): string =>
  fold(text)
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()

/** Makes text fit to be shown and stored: bounded, without control characters and half surrogate pairs. */
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
