/** A file as whoever reads it has it: each piece is fetched when it is asked for, and may be fetched again. */
import type { OpenFile } from '../core/file.ts'
import { isId } from '../core/id.ts'
import { RetomaError } from '../errors.ts'
import type { Db } from './db.ts'
import { findFile, piecesOf, readPiece } from './file.ts'

/** null: there is none. `check` is asked before each piece, and throws where reading has to end. */
export async function openFile(db: Db, id: string, check: () => void = () => {}): Promise<OpenFile | null> {
  const found = isId(id) ? await findFile(db, id) : undefined
  if (found === undefined) return null
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < piecesOf(found!); n++) {
      check()
      const piece = await readPiece(db, id, n)
      if (piece === undefined) throw new RetomaError('file_gone', { id })
      yield piece
    }
  }
  return { ...found, bytes: { [Symbol.asyncIterator]: pieces } }
}
