/**
 * Loads modules of the user, TypeScript included, on a bare Node 20: a retoma.config, and handlers in modules of their own.
 *
 * Invariant: `import … from 'retoma'` in such a module is this very copy of the library, installed in that folder or not: two copies would
 * not recognise each other's errors and outcomes.
 */
import { createJiti } from 'jiti'
import * as http from './http/index.ts'
import * as library from './index.ts'

export function importModule<Module>(file: string): Promise<Module> {
  const jiti = createJiti(import.meta.url, {
    fsCache: false,
    interopDefault: false,
    virtualModules: { retoma: library, 'retoma/http': http },
  })
  return jiti.import<Module>(file)
}
