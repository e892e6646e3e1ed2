/**
 * Serves the built files of the dashboard (dist/web/). The list of files is read once; a request only looks a name up in the list, so no
 * request can name another file.
 *
 * Invariant: a file with a hash in its name never changes and is cached for ever; every other file is revalidated. All bytes are in
 * memory after the first read, so a new build beside a running server changes nothing for the server.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { packageRoot } from '../../lib/package-root.ts'
import { dashboardPolicy } from './dashboard-policy.ts'

interface StaticFile {
  type: string
  /** Content codings with their bytes, the smallest first; '' is the file itself. */
  bytes: readonly (readonly [coding: string, Uint8Array<ArrayBuffer>])[]
  isImmutable: boolean
}

export interface BuiltFiles {
  /** By the path below the base path, without a leading slash. */
  readonly files: ReadonlyMap<string, StaticFile>
  readonly index: string
  /** First segments of the paths of pages. */
  readonly pages: ReadonlySet<string>
}

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
  json: 'application/json',
  webmanifest: 'application/manifest+json',
}

/** Files that describe the build and are no files of the page. */
const isOfBuild = (name: string) => name === 'index.html' || name === 'pages.json' || /(^|\/)\.|\.(?:br|gz)$/.test(name)

/** Reads dist/web/. Returns undefined if the dashboard was not built. */
export function readBuiltFiles(folder: URL = new URL('dist/web/', packageRoot)): BuiltFiles | undefined {
  const read = (name: string) => new Uint8Array(readFileSync(new URL(name, folder)))
  const names = namesIn(folder)
  if (!names.has('index.html')) return undefined
  const bytesOf = (name: string) => {
    const codings = [['br', `${name}.br`] as const, ['gzip', `${name}.gz`] as const, ['', name] as const]
    return codings.filter(([, file]) => names.has(file)).map(([coding, file]) => [coding, read(file)] as const)
  }
  const served = [...names].filter(name => !isOfBuild(name))
  return {
    files: new Map(
      served.map(name => [
        name,
        {
          type: types[name.split('.').at(-1)!] ?? 'application/octet-stream',
          bytes: bytesOf(name),
          isImmutable: name.startsWith('assets/'),
        },
      ]),
    ),
    index: new TextDecoder().decode(read('index.html')),
    pages: new Set(JSON.parse(new TextDecoder().decode(read('pages.json'))) as string[]),
  }
}

function namesIn(folder: URL): Set<string> {
  try {
    const below = (path: string): string[] =>
      readdirSync(new URL(path, folder), { withFileTypes: true }).flatMap(entry =>
        entry.isDirectory() ? below(`${path}${entry.name}/`) : [`${path}${entry.name}`],
      )
    return new Set(below(''))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Set()
    throw error
  }
}

/** The response with a file, in the smallest coding that the client accepts. */
export function fileResponse({ type, bytes, isImmutable }: StaticFile, request: Request): Response {
  const accepted = request.headers.get('accept-encoding') ?? ''
  const [coding, body] = bytes.find(([coding]) => coding === '' || accepts(accepted, coding))!
  return new Response(body, {
    headers: {
      'content-type': type,
      'content-security-policy': dashboardPolicy,
      'content-length': String(body.byteLength),
      'cache-control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
      ...(bytes.length > 1 ? { vary: 'accept-encoding' } : {}),
      ...(coding === '' ? {} : { 'content-encoding': coding }),
    },
  })
}

const accepts = (header: string, coding: string): boolean =>
  header.split(',').some(part => {
    const [name, ...params] = part.split(';').map(each => each.trim().toLowerCase())
    return name === coding && !params.some(each => /^q=0(\.0*)?$/.test(each))
  })
