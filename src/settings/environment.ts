/** Reads the environment together with the `.env` of a folder: the real environment takes precedence, even with an empty value. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { type LocalizedText, RetomaError } from '../errors/errors.ts'

export function readEnvironment(
  folder: string,
  real: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  return { ...(parseEnv(textOf(join(folder, '.env'))) as Record<string, string>), ...real }
}

/** The value of DATABASE_URL for the embedded PostgreSQL. */
export const embedded = 'embedded'
export const isEmbedded = ({ DATABASE_URL }: Readonly<Record<string, string | undefined>>): boolean =>
  DATABASE_URL?.trim() === embedded

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '')
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return ''
    throw new RetomaError(
      'bad_setting',
      { name: file, problem: reasons[code] ?? { en: code, pt: code } },
      { cause: error },
    )
  }
}

const reasons: Record<string, LocalizedText> = {
  EACCES: { en: 'this user may not read it', pt: 'este usuário não pode lê-lo' },
  EISDIR: { en: 'it is a folder, not a file', pt: 'é uma pasta, não um arquivo' },
}
