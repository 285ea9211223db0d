import type { Endpoints } from '../runner/events.ts'
import { haveSameBlock } from '../runner/readiness.ts'
import type { NodeStatus, TestnetStatus } from '../runner/status.ts'

/** The parts of a testnet that conditions look at. */
export interface ObservedTestnet {
  readonly endpoints: Pick<Endpoints, 'nodes'>
  readonly sequencer: string
  status(): Promise<TestnetStatus>
  /** Calls a rollup node. */
  ask(node: string, method: string, params: readonly unknown[]): Promise<unknown>
  askL1(method: string, params: readonly unknown[]): Promise<unknown>
}

/** How a testnet stands at one moment. Numbers that nobody tells are -1. */
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

  /** Name of the node that makes the blocks. */
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

  /** Codes of what is wrong with a node, by its own verdict. */
  faults = (node: string): string[] => this.node(node)?.health?.causes.map(({ code }) => code) ?? []

  /** Whether all nodes, or those that are named, have one block there. */
  haveSameBlock = (height: number, names: readonly string[] = this.names): Promise<boolean> =>
    haveSameBlock(
      this.testnet.endpoints.nodes.filter(({ name }) => names.includes(name)),
      height,
    )

  /** Calls a rollup node. */
  ask = (node: string, method: string, ...params: unknown[]): Promise<unknown> => this.testnet.ask(node, method, params)

  askL1 = (method: string, ...params: unknown[]): Promise<unknown> => this.testnet.askL1(method, params)

  private node(name: string): NodeStatus | undefined {
    return this.status.nodes.find((node) => node.name === name)
  }
}
