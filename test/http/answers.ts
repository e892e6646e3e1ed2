/**
 * Every answer held against the OpenAPI document: a status that is not reported there, a field too many, too few or of another
 * type fails the test that got it. `doorWith` does so with whatever it is asked, so no test has to.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import { expect, inject } from 'vitest'
import { routesOf } from '../../src/http/app.ts'
import type { AppOptions } from '../../src/http/index.ts'
import { type Json, type OpenApi, openApiOf } from '../../src/http/openapi.ts'
import { note } from '../support/seen-codes.ts'

type Check = (method: string, url: string, response: Response) => Promise<void>

/** By what the document says: it takes a second to compile, and a file of tests opens many doors with the same routes. */
const made = new Map<string, Check>()

export function checkedAgainst(options: AppOptions = {}): Check {
  const { basePath = '' } = options
  const document = openApiOf(routesOf(options), basePath)
  const key = JSON.stringify([basePath, document])
  const check = made.get(key) ?? checkerOf(document, basePath)
  made.set(key, check)
  return check
}

function checkerOf(document: OpenApi, basePath: string): Check {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ajvFormats.default(ajv)
  ajv.addSchema(nothingElse(document) as Json, 'api')
  const paths = Object.keys(document.paths)
    .sort((a, b) => parametersIn(a) - parametersIn(b))
    .map(path => ({ path, pattern: patternOf(path) }))

  return async (method, url, response) => {
    const asked = new URL(url).pathname.slice(basePath.length)
    const what = `${method} ${asked}`
    const { status } = response
    const type = response.headers.get('content-type')?.split(';')[0] ?? ''
    const action = (method === 'HEAD' ? 'GET' : method).toLowerCase()
    const path = paths.find(each => each.pattern.test(asked) && document.paths[each.path]![action])?.path
    if (path === undefined) {
      if (status >= 400 && method !== 'HEAD') await hold(response, '#/components/schemas/Error', what)
      return
    }
    if (status >= 400 && type === 'application/json' && method !== 'HEAD') {
      const { error } = (await response.clone().json()) as { error: { code: string } }
      note(inject('seenCodes'), action, path, error.code)
    }
    const shown = document.paths[path]![action]!.responses[status]
    expect(shown, `${what} answered ${status}, which is not in the document:\n${await textOf(response)}`).toBeDefined()
    const content = shown!.content as Record<string, { schema: Json }> | undefined
    if (content === undefined || method === 'HEAD') return
    expect(Object.keys(content), `${what} answered ${status} as ${type}`).toContain(type)
    if (type !== 'application/json') return
    const place = ['paths', path, action, 'responses', String(status), 'content', type, 'schema']
    await hold(response, `#/${place.map(pointer).join('/')}`, `${what} ${status}`)
  }

  async function hold(response: Response, place: string, what: string): Promise<void> {
    const body = await response.clone().json()
    const validate = validatorAt(place)
    if (!validate(body)) {
      const wrong = ajv.errorsText(validate.errors, { dataVar: 'body', separator: '\n' })
      expect.fail(`${what} is not as the document says:\n${wrong}\n${JSON.stringify(body, null, 1)}`)
    }
  }

  function validatorAt(place: string): ValidateFunction {
    const found = ajv.getSchema(`api${place}`)
    if (found === undefined) throw new Error(`nothing at ${place}`)
    return found
  }
}

const textOf = (response: Response) =>
  response.headers.get('content-type')?.includes('json') ? response.clone().text() : ''

const pointer = (part: string) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))
const parametersIn = (path: string) => path.split('{').length
const patternOf = (path: string) => new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`)

/** The document lets answers have more fields some day; today they have none that it does not tell. */
function nothingElse(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(nothingElse)
  if (typeof json !== 'object' || json === null) return json
  const { allOf, ...rest } = json as Json
  const closed = Object.fromEntries(Object.entries(rest).map(([name, each]) => [name, nothingElse(each)])) as Json
  const open = closed.type === 'object' && closed.properties !== undefined && closed.additionalProperties === undefined
  return { ...closed, ...(open ? { additionalProperties: false } : {}), ...(allOf === undefined ? {} : { allOf }) }
}
