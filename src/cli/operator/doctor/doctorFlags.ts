import { rollupNodeProgram } from '../../node/rollupNodeCommand.ts'
import { flag, flagGroup } from '../../shared/flags.ts'

export const doctorFlags = {
  ...flagGroup('Output', { json: flag.boolean('Print one object: forks, findings and queried facts') }),
  ...rollupNodeProgram.flags,
}
