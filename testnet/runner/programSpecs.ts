import { join } from 'node:path'
import { isForkActive } from '../../src/rollup/protocol/index.ts'
import { roles } from '../accounts.ts'
import type { ProcessSpec } from '../process/managedProcess.ts'
import { binDirectory } from './binDirectory.ts'
import { nodeName } from './layout.ts'
import {
  BATCHER_PROGRAM,
  batchSubmitter,
  geth,
  gethInit,
  gethProgram,
  nodeProgram,
  type ProgramCall,
  rollupNode,
  sequencerNode,
} from './programs.ts'
import type { NodeDescription, TestnetSetup } from './setup.ts'

/** What the programs are started with, which depends on the node that makes the blocks. */
export class ProgramSpecs {
  /** Name of that node. */
  sequencer = nodeName(0)
  private readonly setup: TestnetSetup

  constructor(setup: TestnetSetup) {
    this.setup = setup
  }

  gethInit({ layout, call }: NodeDescription): ProcessSpec {
    return this.spec(gethProgram(layout.name), gethInit(call.files))
  }

  geth(node: NodeDescription, { isSequencer = node.layout.name === this.sequencer } = {}): ProcessSpec {
    const { sequencerRpc: _, ...ofSequencer } = node.call
    return this.spec(gethProgram(node.layout.name), geth(isSequencer ? ofSequencer : node.call))
  }

  rollupNode({ layout, call }: NodeDescription): ProcessSpec {
    const isSequencer = layout.name === this.sequencer
    return this.spec(
      nodeProgram(layout.name),
      isSequencer ? sequencerNode(call, roles.sequencer.privateKey) : rollupNode(call),
    )
  }

  /** A sequencer that makes no blocks until it is told to. */
  standby({ layout, call }: NodeDescription): ProcessSpec {
    const { args, ...rest } = sequencerNode(call, roles.sequencer.privateKey)
    return this.spec(nodeProgram(layout.name), { ...rest, args: [...args, '--sequencer.stopped'] })
  }

  /** `resumed`: what L1 holds already is derived first. */
  submitter(nodes: readonly NodeDescription[], resumed: boolean): ProcessSpec {
    const { ports, host, da, chain, token } = this.setup
    const hasBrotli = isForkActive(chain, 'fjord', chain.genesisTime)
    const options = { resumed, da, hasBrotli, cellProofs: chain.l1 !== undefined, tokenFile: token?.file }
    const sequencer = nodes.filter(({ layout }) => layout.name === this.sequencer).map((node) => node.ports)
    const call = batchSubmitter({ ...ports, nodes: sequencer }, host, roles.batcher.privateKey, options)
    return this.spec(BATCHER_PROGRAM, call)
  }

  private spec(name: string, { program, args, env }: ProgramCall): ProcessSpec {
    const script = join(binDirectory(), `${program}.mjs`)
    const logPath = this.setup.layout.log(name)
    return { name, command: { script }, args, logPath, ...(env === undefined ? {} : { env }) }
  }
}
