/**
 * A route that takes files: `route({ …, upload: { files: ['arquivos'], mostFiles: 2000 } })`. Its `run` finds what comes in
 * `call.upload`, part by part, as it comes.
 */

export interface UploadOptions {
  /** The names of the texts that may come. */
  fields?: readonly string[]
  /** The names that files may come under. */
  files: readonly string[]
  /** Those of both that must come; for the document, and checked by the route. */
  required?: readonly string[]
  /** Files in all; one more is refused with too_many_files. */
  mostFiles: number
  /** Bytes of each; one more is refused with file_too_large. */
  largestFile: number
}

export interface UploadedFile {
  field: string
  /** Without a path, and clean. */
  name: string
  type: string
  /** To be read, or left, before the next part is asked for. */
  bytes: AsyncIterable<Uint8Array>
}

/** In the order they were sent. */
export type Part =
  | { field: string; value: string; file?: undefined }
  | { file: UploadedFile; field?: undefined; value?: undefined }

/** Bytes of a text among the files. */
export const largestField = 64 * 1024
/** Texts in all. */
export const mostFields = 100

export const isMultipart = ({ headers }: Request): boolean =>
  /^multipart\/form-data\s*(?:;|$)/i.test(headers.get('content-type') ?? '')
