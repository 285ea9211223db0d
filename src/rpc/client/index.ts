export { type RequestOptions, type RpcClient, RpcTransportError } from '../../jsonRpc/client.ts'
export { JsonRpcError } from '../../jsonRpc/types.ts'
export { DeviumError, UsageError } from '../../lib/errors.ts'
export type { Events, Topic } from '../schemas/events.ts'
export {
  createNodeClient,
  type NodeClient,
  type NodeClientOptions,
  type NodeMethod,
  type NodeMethods,
} from './nodeClient.ts'
