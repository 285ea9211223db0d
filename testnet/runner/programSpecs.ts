import { join } from 'node:path'
import { UsageError } from '../../src/lib/errors.ts'
import { isForkActive } from '../../src/rollup/protocol/index.ts'
import { roles } from '../accounts.ts'
import { whyNoSequencer } from '../clients/clients.ts'
import { opGeth, opGethInit, opReth } from '../clients/executionClients.ts'
import { type BinaryCall, konaNode, opNode } from '../clients/rollupClients.ts'
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

/** The commands of all programs. They depend on which node is the sequencer. */
export class ProgramSpecs {
  /** Name of the sequencer. */
  sequencer = nodeName(0)
  private readonly setup: TestnetSetup

  constructor(setup: TestnetSetup) {
    this.setup = setup
  }

  /** Writes the genesis block; undefined if the execution client does so itself. */
  gethInit({ layout, clients, call }: NodeDescription): ProcessSpec | undefined {
    const name = gethProgram(layout.name)
    const { execution } = clients
    if (execution === undefined) return this.spec(name, gethInit(call.files))
    return execution.client === 'op-geth' ? this.foreign(name, opGethInit(execution.path, call.files)) : undefined
  }

  geth(node: NodeDescription, { isSequencer = node.layout.name === this.sequencer } = {}): ProcessSpec {
    const { layout, clients, call } = node
    const { sequencerRpc: _, ...ofSequencer } = call
    const options = isSequencer ? ofSequencer : call
    const name = gethProgram(layout.name)
    const { execution } = clients
    if (execution === undefined) return this.spec(name, geth(options))
    const foreign = execution.client === 'op-geth' ? opGeth : opReth
    return { ...this.foreign(name, foreign(execution.path, options)), savesOnInterrupt: true }
  }

  rollupNode(node: NodeDescription): ProcessSpec {
    return this.rollup(node, { sequences: node.layout.name === this.sequencer, stopped: false })
  }

  /** A stopped sequencer. Throws UsageError if the node's rollup node cannot be a sequencer. */
  standby(node: NodeDescription): ProcessSpec {
    const whyNot = whyNoSequencer(node.clients)
    if (whyNot !== undefined) throw new UsageError(`${node.layout.name}: ${whyNot}`)
    return this.rollup(node, { sequences: true, stopped: true })
  }

  private rollup(
    { layout, clients, call }: NodeDescription,
    { sequences, stopped }: { sequences: boolean; stopped: boolean },
  ): ProcessSpec {
    const name = nodeProgram(layout.name)
    const { rollup, execution } = clients
    const { privateKey: signerKey } = roles.sequencer
    if (rollup?.client === 'kona') return this.foreign(name, konaNode(rollup.path, call, this.setup.chain))
    if (rollup !== undefined) {
      const sequencing = sequences ? { signerKey, stopped } : undefined
      return this.foreign(name, opNode(rollup.path, call, { execution, sequencing }))
    }
    if (!sequences) return this.spec(name, rollupNode(call))
    const { args, ...rest } = sequencerNode(call, signerKey)
    return this.spec(name, { ...rest, args: stopped ? [...args, '--sequencer.stopped'] : args })
  }

  /** `resumed`: the submitter first derives the batches that L1 already holds. */
  submitter(nodes: readonly NodeDescription[], resumed: boolean): ProcessSpec {
    const { ports, host, da, chain, token } = this.setup
    const hasBrotli = isForkActive(chain, 'fjord', chain.genesisTime)
    const options = { resumed, da, hasBrotli, cellProofs: chain.l1 !== undefined, tokenFile: token?.file }
    const sequencer = nodes.filter(({ layout }) => layout.name === this.sequencer).map((node) => node.ports)
    const call = batchSubmitter({ ...ports, nodes: sequencer }, host, roles.batcher.privateKey, options)
    return this.spec(BATCHER_PROGRAM, call)
  }

  private spec(name: string, call: ProgramCall): ProcessSpec {
    return programSpec(name, call, this.setup.layout.log(name))
  }

  private foreign(name: string, { binary, ...rest }: BinaryCall): ProcessSpec {
    return { name, command: { binary }, logPath: this.setup.layout.log(name), ...rest }
  }
}

/** Specification of one of our programs, with its log file. */
export function programSpec(name: string, { program, ...rest }: ProgramCall, logPath: string): ProcessSpec {
  return { name, command: { script: join(binDirectory(), `${program}.mjs`) }, logPath, ...rest }
}
