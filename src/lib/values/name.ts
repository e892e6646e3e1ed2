/** Defines the allowed names of kinds, queues and schedules. */
import { localized } from '../../errors/errors.ts'

export const namePattern = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/
export const nameRule = localized(
  '1 to 100 letters, digits, ".", "_", ":" or "-", beginning with a letter or digit',
  '1 a 100 letras, dígitos, ".", "_", ":" ou "-", começando com letra ou dígito',
)
