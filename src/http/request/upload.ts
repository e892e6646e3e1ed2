/**
 * Describes a route that takes files: `route({ …, upload: { files: ['arquivos'], mostFiles: 2000 } })`. The route's `run` reads
 * `call.upload` part by part, as the parts arrive.
 */

export interface UploadOptions {
  /** The names of the allowed text fields. Default: none. */
  fields?: readonly string[]
  /** The names of the allowed file fields. */
  files: readonly string[]
  /** The required names of both; for the documentation, and checked by the route. Default: none. */
  required?: readonly string[]
  /** Files in total; more is refused with `too_many_files`. */
  mostFiles: number
  /** Bytes of each file; more is refused with `file_too_large`. */
  largestFile: number
  /**
   * Types of a body that is one file itself, such as `image/*`: `call.upload` then has this file alone, in the first of `files`.
   * Default: none.
   */
  whole?: readonly string[]
}

/** A file of a multipart/form-data body, or the body itself. */
export interface UploadedFile {
  field: string
  /** Without a path, and cleaned. */
  name: string
  /** The name as sent, with the path of a file in a sent folder. Never use the path as a path on this machine. */
  path: string
  type: string
  /** Must be read, or left, before the next part is requested. */
  bytes: AsyncIterable<Uint8Array>
}

/** In the order of the request. */
export type Part =
  | { field: string; value: string; file?: undefined }
  | { file: UploadedFile; field?: undefined; value?: undefined }

/** Bytes of a text field. */
export const largestField = 64 * 1024
/** Text fields in total. */
export const mostFields = 100

export const isMultipart = ({ headers }: Request): boolean =>
  /^multipart\/form-data\s*(?:;|$)/i.test(headers.get('content-type') ?? '')

/** True if the body is one file of a type that the route takes. */
export function isWholeFile({ headers }: Request, { whole = [] }: UploadOptions): boolean {
  const [type = ''] = (headers.get('content-type') ?? '').toLowerCase().split(';')
  const given = type.trim()
  return whole.some(each => (each.endsWith('/*') ? given.startsWith(each.slice(0, -1)) : given === each))
}
