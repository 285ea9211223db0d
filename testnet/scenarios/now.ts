import { type CalledTestnet, haveSameBlock } from '../runner/readiness.ts'
import type { NodeStatus, TestnetStatus } from '../runner/status.ts'

/** The parts of a testnet that conditions read. */
export interface ObservedTestnet extends CalledTestnet {
  readonly sequencer: string
  requestL1(method: string, params: readonly unknown[]): Promise<unknown>
}

/** The state of a testnet at one moment. Unknown numbers are -1. */
export class Now {
  readonly status: TestnetStatus
  private readonly testnet: ObservedTestnet

  constructor(testnet: ObservedTestnet, status: TestnetStatus) {
    this.testnet = testnet
    this.status = status
  }

  static async of(testnet: ObservedTestnet): Promise<Now> {
    return new Now(testnet, await testnet.status())
  }

  /** The nodes in order. */
  get names(): string[] {
    return this.status.nodes.map(({ name }) => name)
  }

  get sequencer(): string {
    return this.testnet.sequencer
  }

  /** Number of the sequencer's last block. */
  get head(): number {
    return this.unsafe(this.sequencer)
  }

  unsafe = (node: string): number => this.node(node)?.unsafe?.number ?? -1

  safe = (node: string): number => this.node(node)?.safe?.number ?? -1

  /** Connected peers. */
  peers = (node: string): number => this.node(node)?.peers ?? -1

  /** Codes of the causes in a node's own verdict. */
  faults = (node: string): string[] => this.node(node)?.health?.causes.map(({ code }) => code) ?? []

  /** Whether all nodes, or the named nodes, share the block at this height. */
  haveSameBlock = (height: number, names: readonly string[] = this.names): Promise<boolean> =>
    haveSameBlock(this.testnet, names, height)

  /** Calls a rollup node. */
  request = (node: string, method: string, ...params: unknown[]): Promise<unknown> =>
    this.testnet.request(node, method, params)

  requestL1 = (method: string, ...params: unknown[]): Promise<unknown> => this.testnet.requestL1(method, params)

  private node(name: string): NodeStatus | undefined {
    return this.status.nodes.find((node) => node.name === name)
  }
}
