/**
 * Checks the path at which an app is mounted. The dashboard writes the base path into its page, so only plain segments are allowed: no
 * host (`//evil.example`), no markup, no pattern.
 */
import { refuseOption } from '../errors/invalid-option.ts'

const plain = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~%!$()+,;=@-]+)*$/

/** Returns the base path without a trailing slash; '' is the root. Throws `bad_option`. */
export function checkedBasePath(given: string | undefined): string {
  const path = (given ?? '').replace(/\/$/, '')
  if (!plain.test(path))
    refuseOption(
      'basePath',
      'it is a path such as /retoma: segments of letters, digits and -._~, each after one slash',
      'é um caminho como /retoma: segmentos de letras, dígitos e -._~, cada um depois de uma barra',
    )
  return path
}
