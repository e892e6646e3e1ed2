/** apps/quotes/sql/schema.sql: the schema of the quotes after its migrations, read from a real PostgreSQL's catalog. */
export const file = 'apps/quotes/sql/schema.sql'

export async function print() {
  const { startTestServer } = await import('../../dist/testing/index.js')
  const { printSchema } = await import('../../dist/testing/print-schema.js')
  const { quotes } = await import('../../apps/quotes/dist/index.js')
  const server = await startTestServer()
  try {
    return await printSchema(server.url, quotes())
  } finally {
    await server.stop()
  }
}
