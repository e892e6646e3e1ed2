/** .env.example: the table of src/settings/table.ts, in its order. */
export const file = '.env.example'

export async function print() {
  const { printExample } = await import('../../dist/settings/example.js')
  return printExample()
}
