/**
 * Finds the files of this package from any module. The build joins modules into a few files, so the address of a module says nothing about
 * the place of another file.
 */
import { readFileSync } from 'node:fs'

interface Manifest {
  name: string
  version: string
}

const { folder, manifest } = findPackage()

/** The folder of package.json. */
export const packageRoot: URL = folder

export const packageVersion: string = manifest.version

/** The folder of the modules of this package: dist/, or src/ where tests load the sources. */
export const moduleFolder: URL = new URL(import.meta.url.endsWith('.ts') ? 'src/' : 'dist/', folder)

/** A built module. Threads and processes start from the build: Node 20 cannot load the sources. */
export const builtModule = (path: string): URL => new URL(`dist/${path}`, folder)

function findPackage(): { folder: URL; manifest: Manifest } {
  for (let at = new URL('.', import.meta.url); ; at = new URL('..', at)) {
    const manifest = readManifest(at)
    if (manifest?.name === 'retoma') return { folder: at, manifest }
    if (at.pathname === new URL('..', at).pathname)
      throw new Error(
        `no package.json of retoma above ${import.meta.url}: keep retoma out of the bundle (external: ['retoma'])`,
      )
  }
}

function readManifest(at: URL): Manifest | undefined {
  try {
    return JSON.parse(readFileSync(new URL('package.json', at), 'utf8'))
  } catch {
    return undefined
  }
}
