// Who is signed in: decides what is shown. The server alone decides what is allowed.

export const ROLES = ['reader', 'user', 'agent', 'operator', 'admin'];

export const who = { kind: 'none', role: 'admin', apps: ['*'], users: ['*'], features: [], json: undefined, info: undefined };

// A trailing `*` makes a prefix; with a backslash before it, it is a character of a name.
const covers = (names, name) => names.some((one) => (one.endsWith('\\*')
	? name === `${one.slice(0, -2)}*`
	: one === name || (one.endsWith('*') && name.startsWith(one.slice(0, -1)))));

export const hasRole = (role) => ROLES.indexOf(who.role) >= ROLES.indexOf(role);
export const hasApp = (app) => covers(who.apps, app);
export const hasUser = (user) => covers(who.users, user);
export const mayWrite = () => hasRole('user');
/** What all users of an app share is written by those who may write for all users. */
export const mayWriteApp = (app) => hasRole('agent') && hasApp(app) && who.users.includes('*');
export const hasFeature = (name) => who.features.includes(name);
/** What removes data, or hands out all of it. */
export const mayOperate = (app, feature) => hasRole('operator') && hasApp(app) && hasFeature(feature);
