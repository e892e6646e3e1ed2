import type { JobContext, Skip } from '../../src/index.ts'

declare const handler: (ctx: JobContext, input: { code: string }) => { length: number } | Skip
export default handler
