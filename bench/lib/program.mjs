/** The command line of this build as a process of a proof, with the systems in retoma.config.ts of this repository. */
import { fileURLToPath } from 'node:url'
import { onLeash } from './leash.mjs'

const cli = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const config = fileURLToPath(new URL('../../retoma.config.ts', import.meta.url))

/** The process ends with the room. */
export function startProgram(room, database, args, env = {}) {
  let reported = ''
  const leash = onLeash(process.execPath, [cli, ...args, '--config', config], {
    cwd: room.folder,
    env: {
      PATH: process.env.PATH,
      HOME: room.folder,
      LANG: 'en_US.UTF-8',
      DATABASE_URL: database.url,
      PORT: '0',
      RETOMA_SUPERVISE: 'off',
      RETOMA_LIMITS: 'off',
      LOG_LEVEL: 'warn',
      ...env,
    },
    output: text => {
      reported += text
    },
  })
  room.atEnd(() => leash.end())
  return { pid: leash.pid, reported: () => reported }
}
