// Who is signed in and what the server can do: decides what is shown. The server alone decides what is allowed.

const ROLES = ['reader', 'user', 'agent', 'operator', 'admin'];

export const who = { kind: 'none', role: 'admin', features: [], json: undefined, info: undefined };

export const hasRole = (role) => ROLES.indexOf(who.role) >= ROLES.indexOf(role);
export const mayWrite = () => hasRole('user');
export const mayWriteApp = () => hasRole('agent');
export const hasFeature = (name) => who.features.includes(name);
