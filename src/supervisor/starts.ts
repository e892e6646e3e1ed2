/**
 * Which attempts a worker has started, in a file that outlives its process: one line of fixed length each, written over when
 * its attempt has ended. One file for each worker, named after it, so a supervisor knows from the folder alone which workers
 * a dead process had. Ends are not noted: whoever reads the list asks the database which of them that worker still holds.
 *
 * Invariant: a start is in the file before its handler begins, by one synchronous write that the death of the process cannot
 * tear (a line never crosses a page), and it stays there until the attempt has ended; or there is no file. The death of the
 * machine may lose it. Nothing here throws: work that cannot be noted is done all the same.
 */
import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export interface Starts {
  /** Answers the place to free when the attempt has ended. */
  note(name: string): number
  free(place: number): void
  /** This worker holds nothing more. */
  close(): void
}

const prefix = 'starts.'
/** `id/attempt`: at most 19 digits, a stroke and 10 digits. */
const length = 32
const blank = 0x20
const newline = 0x0a

const nowhere: Starts = { note: () => -1, free() {}, close() {} }

/** Without a folder nobody reads it, and nothing is written. */
export function openStarts(folder: string | undefined, worker: string): Starts {
  if (folder === undefined) return nowhere
  const path = join(folder, prefix + worker)
  const file = opened(path)
  if (file === undefined) return nowhere
  const line = Buffer.alloc(length, blank)
  line[length - 1] = newline
  const unused: number[] = []
  let places = 0
  let open = true
  return {
    note(name) {
      const place = unused.pop() ?? places++
      line.fill(blank, 0, length - 1)
      line.write(name, 0, 'latin1')
      try {
        if (open) writeSync(file, line, 0, length, place * length)
      } catch {
        // The disk is full. A list without this one would say that it never began: better none, and the watchdog finds all.
        rmSync(path, { force: true })
      }
      return place
    },
    free: place => void unused.push(place),
    close() {
      if (!open) return
      open = false
      closeSync(file)
      rmSync(path, { force: true })
    },
  }
}

function opened(path: string): number | undefined {
  try {
    return openSync(path, 'w', 0o600)
  } catch {
    return undefined
  }
}

/** Worker to the attempts it may hold, as `id/attempt`: of every worker that did not end in order. */
export function readStarts(folder: string): Map<string, string[]> {
  if (!existsSync(folder)) return new Map()
  const files = readdirSync(folder, { withFileTypes: true }).filter(
    each => each.isFile() && each.name.startsWith(prefix),
  )
  return new Map(
    files.map(({ name }) => [name.slice(prefix.length), linesOf(readFileSync(join(folder, name), 'latin1'))]),
  )
}

const linesOf = (text: string): string[] => text.split('\n').flatMap(line => line.trim() || [])
