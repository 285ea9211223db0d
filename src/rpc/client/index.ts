export { DeviumError, UsageError } from '../../lib/errors.ts'
export { type RequestOptions, type RpcClient, RpcTransportError } from '../../lib/jsonRpc/client.ts'
export { JsonRpcError } from '../../lib/jsonRpc/types.ts'
export type { Events, Topic } from '../schemas/events.ts'
export {
  createNodeClient,
  type NodeClient,
  type NodeClientOptions,
  type NodeMethod,
  type NodeMethods,
} from './nodeClient.ts'
