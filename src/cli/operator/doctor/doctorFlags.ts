import { rollupNodeProgram } from '../../node/rollupNodeCommand.ts'
import { flag } from '../../shared/flags.ts'

const OUTPUT = 'Output'
export const doctorFlags = {
  json: flag.boolean(OUTPUT, 'json', 'Print one object: forks, findings and queried facts'),
  ...rollupNodeProgram.flags,
}
