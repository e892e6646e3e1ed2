/** A file as it is kept in PostgreSQL, in pieces. */

export interface FileView {
  id: string
  name: string
  type: string
  /** Bytes. */
  size: number
  /** In hex. */
  sha256: string
  createdAt: Date
}

export interface OpenFile extends FileView {
  /** Its bytes, a piece at a time; each piece is read when it is asked for. */
  bytes: AsyncIterable<Uint8Array>
}
