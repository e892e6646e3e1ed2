/** The environment variables that a supervisor sets for the process it starts, and for no other. */

/** Set by the supervisor for the process it starts: the folder of its papers. */
export const papersVariable = 'RETOMA_PAPERS'

/** Likewise: its own pid. What a job starts has that in its environment, too, and is not the process that is meant. */
export const supervisorVariable = 'RETOMA_SUPERVISOR'

/** Likewise: the folder of the death certificates of those before it. */
export const certificatesVariable = 'RETOMA_CERTIFICATES'

/** Likewise: what it writes to stderr is shown on a terminal, though it sees a pipe. */
export const terminalVariable = 'RETOMA_TERMINAL'

/** Nobody else sets them, so they are no settings. */
export const ownVariables: readonly string[] = [
  papersVariable,
  supervisorVariable,
  certificatesVariable,
  terminalVariable,
]
