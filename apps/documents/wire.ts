/** Turns documents into JSON for HTTP, in the seed's words. */
import { z } from 'zod'
import { statuses } from './status.ts'
import type { DocumentRow } from './store/documents.ts'

const instant = z.iso.datetime().meta({ description: 'ISO 8601, UTC' })
export const status = z.enum(statuses)

export const document = z
  .object({
    id: z.string(),
    user: z.string(),
    filename: z.string(),
    size: z.number().int().meta({ description: 'bytes' }),
    sha256: z.string(),
    status,
    error_message: z.string().nullable().meta({ description: 'why the document is FAILED' }),
    pages: z.number().int().nullable(),
    title: z.string().nullable(),
    language: z.enum(['pt', 'en']).nullable().meta({ description: 'null: another language, or too little text' }),
    text_complete: z.boolean().nullable().meta({ description: 'false: the text lacks pages' }),
    duplicate_of: z
      .string()
      .nullable()
      .meta({ description: 'the first document of the same user with the same bytes' }),
    thumbnail_url: z.string().nullable(),
    created_at: instant,
    updated_at: instant,
  })
  .meta({ id: 'Document' })

export const documentWire = (row: DocumentRow) => ({
  id: row.id,
  user: row.user,
  filename: row.filename,
  size: row.size,
  sha256: row.sha256,
  status: row.status,
  error_message: row.error_message,
  pages: row.pages,
  title: row.title,
  language: row.language,
  text_complete: row.text_complete,
  duplicate_of: row.duplicate_of,
  thumbnail_url: row.has_thumbnail ? `/api/documents/${row.id}/thumbnail` : null,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
