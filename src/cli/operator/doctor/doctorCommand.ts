import type { Command } from 'commander'
import { rollupNodeProgram } from '../../node/rollupNodeCommand.ts'
import { createProgram, onOneLine } from '../../shared/program.ts'
import { VERSION } from '../../shared/version.ts'
import { doctorFlags } from './doctorFlags.ts'

/** Flags that the doctor evaluates. It accepts the node's other flags without using them. */
const SHOWN =
  /^--(json|help|version|config|l1|l1\.(trustrpc|beacon.*)|l2|l2\.(jwt-secret|engine-rpc-timeout)|network|rollup\.(config|l1-chain-config)|override\.(?!pectra|keep).*)$/

const HELP = `
The command accepts the flags and environment variables of devium--batcher: replace "devium--batcher" by "devium doctor". All flags: devium--batcher --help
It only sends requests: it opens no port and changes no file.
Exit code 0: nothing stops the node, 3: something stops it, now or at a fork, 1: a flag or file is wrong.`

/** `devium doctor`: whether a rollup node with these flags is ready for the forks of its chain and of L1. */
export function addDoctor(program: Command): void {
  const command = createProgram({
    ...rollupNodeProgram,
    ...{ name: 'doctor', flags: doctorFlags, version: VERSION, endsBySignal: true },
    description:
      'Check whether a node with these flags is ready for the next forks: problems, their times and remedies',
    run: async (values, context) => {
      const { runDoctor } = await import('./runDoctor.ts')
      await runDoctor(values, context.warnings)
    },
  })
  command
    .usage('[flags of devium--batcher]')
    .addHelpText('after', HELP)
    .configureOutput({ outputError: (text, write) => write(`${program.name()}: ${onOneLine(text)}`) })
    .configureHelp({
      ...{ sortOptions: false, optionDescription: ({ description }) => description },
      visibleOptions: ({ options }) => options.filter(({ hidden, long }) => !hidden && SHOWN.test(long ?? '')),
    })
  program.addCommand(command)
}
