/**
 * Serves the dashboard below the base path: its files, and the one page that shows every address of the dashboard. The page contains no
 * data: the page asks the HTTP API, and the API authenticates.
 *
 * Invariant: the page depends on the configured base path only, never on the request. A path of the API is never the page.
 */
import type { System } from '../system.ts'
import { dashboardPolicy } from './dashboard-policy.ts'
import { type BuiltFiles, fileResponse, readBuiltFiles } from './static-files.ts'

export interface DashboardOptions {
  basePath: string
  systems: readonly Pick<System, 'page'>[]
}

export interface Dashboard {
  /** The response to a GET that no route answers; undefined if the dashboard has nothing at this path. */
  respond(request: Request, path: string): Response | undefined
}

export function createDashboard({ basePath, systems }: DashboardOptions): Dashboard {
  let built: { files: BuiltFiles; html: string } | undefined
  const systemPages = new Set(systems.flatMap(({ page }) => (page === undefined ? [] : [firstSegment(page)])))

  /** Read at the first request: a program that only mounts the API pays nothing. */
  function load(): typeof built {
    if (built !== undefined) return built
    const files = readBuiltFiles()
    if (files !== undefined) built = { files, html: withBase(files.index, basePath) }
    return built
  }

  return {
    respond(request, path) {
      if (request.method !== 'GET' || !isBelow(path, basePath)) return undefined
      const below = path.slice(basePath.length).replace(/^\//, '')
      const found = load()
      if (found === undefined) return undefined
      const file = found.files.files.get(below)
      if (file !== undefined) return fileResponse(file, request)
      const first = firstSegment(below)
      if (first === '' || found.files.pages.has(first) || systemPages.has(first)) return page(found.html, 200)
      return asksForPage(request, first) ? page(found.html, 404) : undefined
    },
  }
}

const isBelow = (path: string, basePath: string) => path === basePath || path.startsWith(`${basePath}/`)

const firstSegment = (path: string): string => path.replace(/^\//, '').split('/')[0]!

/** A browser that goes to a misspelled address gets the page, which says so; a program gets the error as JSON. */
const asksForPage = (request: Request, first: string) =>
  first !== 'api' && first !== 'assets' && /(^|,)\s*text\/html\b/.test(request.headers.get('accept') ?? '')

const page = (html: string, status: number) =>
  new Response(html, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-length': String(Buffer.byteLength(html)),
      'cache-control': 'no-cache',
      'content-security-policy': dashboardPolicy,
    },
  })

const withBase = (html: string, basePath: string) =>
  html.replace('<base href="/" />', () => `<base href="${escaped(basePath)}/" />`)

const escaped = (text: string) => text.replace(/[&<>"']/g, character => `&#${character.codePointAt(0)};`)
