/** A supervisor and nothing else, for crash-report.test.ts: looks after guest.mjs, and says on stderr what happens to it. */
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../dist/lib/clock.js'
import { createLog } from '../../dist/lib/logging/log.js'
import { makeCrashReportFolder } from '../../dist/supervisor/crash-report-folder.js'
import { supervise } from '../../dist/supervisor/supervisor.js'

const entry = fileURLToPath(new URL('./guest.mjs', import.meta.url))
const program = { entry, args: process.argv.slice(2), execArgv: process.execArgv, env: process.env }
const log = async () => createLog({ level: 'info', format: 'json' })
const { exitCode } = await supervise({ program, folder: makeCrashReportFolder(), clock: systemClock, log })
process.exit(exitCode ?? 1)
