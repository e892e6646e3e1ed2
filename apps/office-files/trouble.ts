/** Problems of a file from a stranger. */

export type Trouble =
  | { trouble: 'corrupt'; problem: string }
  /** A path inside a ZIP is absolute or leaves its folder. */
  | { trouble: 'path_outside' }
  /** Some entry needs a password. */
  | { trouble: 'encrypted' }
  /** More bytes, in megabytes, than `most` after unpacking. */
  | { trouble: 'bomb'; megabytes: number; most: number }
  | { trouble: 'too_large'; en: string; pt: string }

/** Ends the reading of a file. */
export class FileTrouble extends Error {
  readonly of: Trouble

  constructor(of: Trouble) {
    super(of.trouble === 'corrupt' ? of.problem : of.trouble)
    this.of = of
  }
}

export const corrupt = (problem: unknown): FileTrouble =>
  new FileTrouble({ trouble: 'corrupt', problem: String((problem as Error)?.message ?? problem).slice(0, 300) })

export const tooLarge = (en: string, pt: string): FileTrouble => new FileTrouble({ trouble: 'too_large', en, pt })
