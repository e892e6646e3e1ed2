/** web/src/api/schema.ts: the types of the HTTP API for the dashboard, from the same OpenAPI document that the server answers. */
import { typesOf } from '../lib/openapi-types.mjs'

export const file = 'web/src/api/schema.ts'

const systems = ['classifier', 'quotes', 'documents', 'snaps', 'planner']

export async function print() {
  const { routesOf } = await import('../../dist/http/app.js')
  const { openApiOf } = await import('../../dist/http/openapi.js')
  const routes = await Promise.all(
    systems.map(async name => (await import(`../../apps/${name}/dist/index.js`))[name]().routes),
  )
  return typesOf(openApiOf(routesOf({ routes: routes.flat() })))
}
