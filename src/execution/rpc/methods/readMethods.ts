import type { CallOptions } from '../../callProcess/callTask.ts'
import type { ReadableChain } from '../../chain/types.ts'
import type { MethodTable } from '../context.ts'
import { type Pace, UNHURRIED } from '../pace.ts'
import { createBlockMethods } from './blockMethods.ts'
import { createCallMethods } from './callMethods.ts'
import { createFeeMethods } from './feeMethods.ts'
import { createLogMethods } from './logMethods.ts'
import { createMinedMethods } from './minedMethods.ts'
import { createProofMethods } from './proofMethods.ts'
import { createRawMethods } from './rawMethods.ts'
import { createSimulateMethods } from './simulateMethods.ts'
import { createTraceMethods } from './traceMethods.ts'

/** What needs nothing but a chain to read: it may run in another process. */
export function createReadMethods(chain: ReadableChain, options: CallOptions, pace: Pace = UNHURRIED): MethodTable {
  return {
    ...createBlockMethods(chain, pace),
    ...createCallMethods(chain, options, pace),
    ...createFeeMethods(chain, options, pace),
    ...createLogMethods(chain, options, pace),
    ...createMinedMethods(chain, pace),
    ...createProofMethods(chain, pace),
    ...createRawMethods(chain, pace),
    ...createSimulateMethods(chain, options, pace),
    ...createTraceMethods(chain, options, pace),
  }
}
