/**
 * How often a list of several pages is read again. Every page is read, so the pause grows with the number of pages and the number of
 * requests stays the same; with too many pages the list stands still, and the page says since when.
 */
export interface ReadPage<Item> {
  items: Item[]
  next: string | null
  /** In milliseconds since 1970. */
  readAt: number
}

/** Lists that show progress stay live up to so many pages. */
export const mostLivePages = 5

/** The pause until the next read; false: none. */
export const rereadMs = (every: number | false, pages: number, livePages: number): number | false =>
  every === false || pages > livePages ? false : every * Math.max(1, pages)

/** When the oldest page of a list that stands still was read; undefined: the list is read again by itself. */
export const stillSinceOf = (pages: readonly ReadPage<unknown>[], livePages: number): number | undefined =>
  pages.length > livePages ? Math.min(...pages.map(page => page.readAt)) : undefined
